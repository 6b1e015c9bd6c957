import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import type { Request, Response } from 'express';
import type { RouteTable } from '../../http/route-table.ts';
import { wantsPage } from '../../http/to-login.ts';
import { START_PAGE } from '../sign-in-cookie.ts';
import type { Html } from './html.ts';

const brotli = promisify(brotliCompress);
const zip = promisify(gzip);

/** A smaller page fits into one packet uncompressed. */
const SMALLEST = 1400;
// A page is rendered for one reader: the lowest effort already gives most of the gain, off the event loop.
const QUALITY = { params: { [constants.BROTLI_PARAM_QUALITY]: 4 } };

/**
 * Sends HTML, unless the page has set another type, in the best encoding that the client accepts. Only for GET: the length
 * of a compressed response that repeats form fields next to a new key would leak information about the key.
 */
export async function sendPage(request: Request, response: Response, text: Html): Promise<void> {
  if (!response.hasHeader('content-type')) response.type('html');
  response.vary('Accept-Encoding');
  const encoding = text.length < SMALLEST ? false : request.acceptsEncodings(['br', 'gzip']);
  if (encoding !== 'br' && encoding !== 'gzip') return void response.send(text);
  const bytes = encoding === 'br' ? await brotli(text, QUALITY) : await zip(text);
  response.set('content-encoding', encoding).send(bytes);
}

/** A form that was refused leaves its own address: opening or reloading that leads to the page with the form. */
export function sendToPage<T>(table: RouteTable<T>, request: Request, response: Response): boolean {
  const { path } = request;
  if (table.has('GET', path) || !table.has('POST', path) || !wantsPage(request)) return false;
  let above = path;
  do above = above.slice(0, above.lastIndexOf('/'));
  while (above !== '' && !table.has('GET', above));
  response.redirect(303, above || START_PAGE);
  return true;
}
