/**
 * Static files, read and compressed once: one style sheet joined from its parts, third-party files from their packages,
 * our own scripts. Pages reference them below a folder named by the digest of them all, so that browsers can cache them
 * permanently, and scripts that import each other by relative paths are of the same release.
 */
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync, constants } from 'node:zlib';
import { readLanguageFile, repositoryRoot } from '@acp/kernel';
import { type RequestHandler, type Response, Router } from 'express';
import { languages, scriptTexts } from './languages.ts';

const folder = join(repositoryRoot, 'apps/web/assets');
const markdownIt = fileURLToPath(import.meta.resolve('markdown-it/browser'));
const combobox = fileURLToPath(import.meta.resolve('@github/combobox-nav'));
const expander = join(
  dirname(fileURLToPath(import.meta.resolve('@github/text-expander-element'))),
  'bundle.js',
);
const htmx = join(dirname(fileURLToPath(import.meta.resolve('htmx.org'))), 'htmx.min.js');

/** Cache lifetime for addresses without the digest: browsers then revalidate, and usually get a 304. */
const FRESH_SEC = 300;
const YEAR_SEC = 31_536_000;

interface Asset {
  text: () => string;
  type: string;
  etag: string;
  /** Compressed on first request. */
  brotli: Buffer | null;
}

const assets = readAssets();
const release = digestOf([...assets].map(([name, { etag }]) => name + etag).join());

/** The address under which pages reference a file. */
export function assetPath(name: string): string {
  if (!assets.has(name)) throw new Error(`there is no asset ${name}`);
  return `/static/${release}/${name}`;
}

export function assetsRouter(): Router {
  const router = Router();
  const serve: RequestHandler = (request, response, next) => {
    const { name = '', version } = request.params as { name?: string; version?: string };
    const asset = assets.get(name);
    if (asset === undefined) return next();
    // A page of another release gets the current file, marked `no-cache`.
    const keep = version === undefined ? `max-age=${FRESH_SEC}` : `max-age=${YEAR_SEC}, immutable`;
    const fits = version === undefined || version === release;
    response.set({ 'cache-control': fits ? `public, ${keep}` : 'no-cache', etag: asset.etag });
    response.vary('Accept-Encoding');
    if (request.fresh) response.status(304).end();
    else send(response.type(asset.type), asset, request.acceptsEncodings('br') === 'br');
  };
  router.get('/:name', serve);
  router.get('/:version/:name', serve);
  return router;
}

function send(response: Response, asset: Asset, brotli: boolean): void {
  if (!brotli) return void response.send(asset.text());
  asset.brotli ??= brotliCompressSync(asset.text(), { params: { [constants.BROTLI_PARAM_QUALITY]: 9 } });
  response.set('content-encoding', 'br').send(asset.brotli);
}

function readAssets(): ReadonlyMap<string, Asset> {
  const scripts = readdirSync(join(folder, 'js')).filter((name) => name.endsWith('.js'));
  const files: [name: string, text: string][] = [
    ['app.css', joinedStyles()],
    ['htmx.js', readFileSync(htmx, 'utf8')],
    // Chats are rendered in the browser while they stream; the final text is rendered by the server.
    ['markdown-it.js', readFileSync(markdownIt, 'utf8')],
    ['text-expander.js', readFileSync(expander, 'utf8')],
    ['combobox-nav.js', readFileSync(combobox, 'utf8')],
    ...scripts
      .toSorted()
      .map((name): [string, string] => [name, readFileSync(join(folder, 'js', name), 'utf8')]),
  ];
  return new Map([
    ...files.map(([name, text]): [string, Asset] => [name, assetOf(name, text, () => text)]),
    // Generated from the language's file when first requested.
    ...languages
      .filter((language) => language !== 'en')
      .map((language): [string, Asset] => {
        const name = `texts-${language}.js`;
        const text = (): string => `export default ${JSON.stringify(scriptTexts(language))};\n`;
        return [name, assetOf(name, readLanguageFile(language), text)];
      }),
  ]);
}

function assetOf(name: string, source: string, text: () => string): Asset {
  const type = name.endsWith('.css') ? 'css' : 'js';
  return { text, type, etag: `"${digestOf(source)}"`, brotli: null };
}

/** The parts, sorted by name: tokens first. */
function joinedStyles(): string {
  const parts = readdirSync(join(folder, 'css')).filter((name) => name.endsWith('.css'));
  return parts
    .toSorted()
    .map((name) => readFileSync(join(folder, 'css', name), 'utf8'))
    .join('\n');
}

function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('base64url').slice(0, 22);
}
