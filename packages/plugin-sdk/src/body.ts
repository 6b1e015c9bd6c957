import { readFile } from 'node:fs/promises';

interface Sent {
  body: string | null;
  body_encoding: 'utf8' | 'base64';
  body_file?: string;
}

/** Bytes received in a line or, if that would be too long, in a file of the workspace. */
export class Body {
  readonly #sent: Sent;

  constructor(sent: Sent) {
    this.#sent = sent;
  }

  /** The exact bytes sent, over which signatures are computed. */
  async bytes(): Promise<Buffer> {
    const { body, body_encoding, body_file } = this.#sent;
    return body_file === undefined ? Buffer.from(body ?? '', body_encoding) : readFile(body_file);
  }

  async text(): Promise<string> {
    return (await this.bytes()).toString('utf8');
  }

  /** @throws SyntaxError if it is not JSON */
  async json(): Promise<unknown> {
    return JSON.parse(await this.text()) as unknown;
  }
}
