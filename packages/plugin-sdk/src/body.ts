import { readFile } from 'node:fs/promises';

interface Sent {
  body: string | null;
  body_encoding: 'utf8' | 'base64';
  body_file?: string;
}

/** Bytes that came in a line or, where that would have been too long, in a file of the workspace. */
export class Body {
  readonly #sent: Sent;

  constructor(sent: Sent) {
    this.#sent = sent;
  }

  /** As they were sent: what a signature is over. */
  async bytes(): Promise<Buffer> {
    const { body, body_encoding, body_file } = this.#sent;
    return body_file === undefined ? Buffer.from(body ?? '', body_encoding) : readFile(body_file);
  }

  async text(): Promise<string> {
    return (await this.bytes()).toString('utf8');
  }

  /** @throws SyntaxError where it is no JSON */
  async json(): Promise<unknown> {
    return JSON.parse(await this.text()) as unknown;
  }
}
