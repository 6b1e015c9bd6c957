/** What the check found, line by line. */
export class Report {
  readonly #say: (line: string) => void;
  wrong = 0;

  constructor(say: (line: string) => void) {
    this.#say = say;
  }

  ok(what: string): void {
    this.#say(`ok     ${what}`);
  }

  bad(what: string): void {
    this.wrong += 1;
    this.#say(`WRONG  ${what}`);
  }

  /** Could not be tried, or is not forbidden but unwise. */
  note(what: string): void {
    this.#say(`note   ${what}`);
  }

  /** One thing that is to hold: what `act` throws is what is wrong. */
  async step(what: string, act: () => Promise<void>): Promise<boolean> {
    try {
      await act();
      this.ok(what);
      return true;
    } catch (error) {
      this.bad(`${what}: ${error instanceof Error ? error.message : String(error)}`);
      return false;
    }
  }
}
