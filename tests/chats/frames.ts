/** A reader of `text/event-stream`, like a client that follows a reply. */
import { waitFor } from '@acp/testkit';

export interface Frame {
  id: string;
  event: string;
  data: Record<string, unknown>;
}

export class FrameReader {
  readonly frames: Frame[] = [];
  readonly status: number;
  ended = false;
  readonly #abort: AbortController;

  static async open(url: string, init: RequestInit = {}): Promise<FrameReader> {
    const abort = new AbortController();
    const response = await fetch(url, { ...init, signal: abort.signal });
    const reader = new FrameReader(response.status, abort);
    void reader.#read(response);
    return reader;
  }

  private constructor(status: number, abort: AbortController) {
    this.status = status;
    this.#abort = abort;
  }

  async #read(response: Response): Promise<void> {
    let text = '';
    try {
      for await (const piece of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
        text += piece;
        const whole = text.split('\n\n');
        text = whole.pop() ?? '';
        for (const block of whole) this.#take(block);
      }
    } catch {
      // We cut the connection.
    }
    this.ended = true;
  }

  #take(block: string): void {
    const field = (name: string) => new RegExp(`^${name}: (.*)$`, 'm').exec(block)?.[1];
    const event = field('event');
    if (event === undefined) return;
    this.frames.push({ id: field('id') ?? '', event, data: JSON.parse(field('data') ?? '{}') });
  }

  of(event: string): Frame[] {
    return this.frames.filter((frame) => frame.event === event);
  }

  /** The text of the deltas since the last `reset`. */
  get text(): string {
    const from = this.frames.findLastIndex(({ event }) => event === 'reset');
    return this.frames
      .slice(from + 1)
      .filter(({ event }) => event === 'delta')
      .map(({ data }) => String(data.text))
      .join('');
  }

  async until(event: string): Promise<Frame> {
    return waitFor(() => this.of(event)[0], { what: `the frame ${event}` });
  }

  cut(): void {
    this.#abort.abort();
  }
}
