import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import type { Request, Response } from 'express';
import type { Html } from './html.ts';

const brotli = promisify(brotliCompress);
const zip = promisify(gzip);

/** Below that a packet has room for the page as it is. */
const SMALLEST = 1400;
// A page is made for one reader: the least effort already gives most of the gain, off the loop.
const QUALITY = { params: { [constants.BROTLI_PARAM_QUALITY]: 4 } };

/**
 * HTML, unless the page has said that it answers something else, in the best encoding that the reader takes. For what
 * GET shows alone: the length of a compressed answer that repeats its form's fields beside a new key would tell of the key.
 */
export async function sendPage(request: Request, response: Response, text: Html): Promise<void> {
  if (!response.hasHeader('content-type')) response.type('html');
  response.vary('Accept-Encoding');
  const encoding = text.length < SMALLEST ? false : request.acceptsEncodings(['br', 'gzip']);
  if (encoding !== 'br' && encoding !== 'gzip') return void response.send(text);
  const bytes = encoding === 'br' ? await brotli(text, QUALITY) : await zip(text);
  response.set('content-encoding', encoding).send(bytes);
}
