/** Static files: one style sheet joined from its parts at the start, htmx and markdown-it from their packages, scripts of our own. */
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import express, { Router } from 'express';

const folder = resolve(import.meta.dirname, '../../../assets');
const markdownIt = fileURLToPath(import.meta.resolve('markdown-it/browser'));
const htmx = join(dirname(fileURLToPath(import.meta.resolve('htmx.org'))), 'htmx.min.js');

/** Names carry no hash: browsers ask again after a while and mostly hear that nothing has changed. */
const FRESH_SEC = 300;

export function assetsRouter(): Router {
  const router = Router();
  router.get('/app.css', fixed('css', joinedStyles()));
  router.get('/htmx.js', fixed('js', readFileSync(htmx, 'utf8')));
  // Chats are rendered while they stream; what stays is the server's.
  router.get('/markdown-it.js', fixed('js', readFileSync(markdownIt, 'utf8')));
  router.use(express.static(join(folder, 'js'), { maxAge: FRESH_SEC * 1000, index: false, redirect: false }));
  return router;
}

/** The parts in the order of their names: tokens first. */
function joinedStyles(): string {
  const parts = readdirSync(join(folder, 'css')).filter((name) => name.endsWith('.css'));
  return parts
    .toSorted()
    .map((name) => readFileSync(join(folder, 'css', name), 'utf8'))
    .join('\n');
}

function fixed(type: string, text: string): express.RequestHandler {
  const etag = `"${createHash('sha256').update(text).digest('base64url').slice(0, 22)}"`;
  return (request, response) => {
    response.set({ 'cache-control': `public, max-age=${FRESH_SEC}`, etag });
    if (request.fresh) response.status(304).end();
    else response.type(type).send(text);
  };
}
