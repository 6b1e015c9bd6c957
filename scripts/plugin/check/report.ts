/** Prints the findings of the check, line by line. */
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

  /** Something that could not be tried, or is unwise but not forbidden. */
  note(what: string): void {
    this.#say(`note   ${what}`);
  }

  /** Checks one requirement: an error thrown by `act` is the finding. */
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
