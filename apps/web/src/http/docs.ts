/** The API's description, generated from the same table as the routes. */
import * as contract from '@acp/contract';
import { docsEndpoints, endpoints, exampleBody, openApiDocument } from '@acp/contract';
import type { EndpointRow } from '@acp/contract';
import { serviceVersion } from '@acp/kernel';
import { html } from 'ghtml';
import { sendJson } from './answer.ts';
import { handle } from './handle.ts';
import type { Route } from './handle.ts';

/** Both are generated on the first request and kept: the table does not change while the process runs. */
export function docsRoutes(): Route[] {
  let document: string | undefined;
  let page: string | undefined;
  return [
    handle(docsEndpoints.openapi, ({ response }) => {
      document ??= JSON.stringify(openApiDocument(endpoints, serviceVersion().version, contract));
      sendJson(response, 200, document);
    }),
    handle(docsEndpoints.page, ({ response }) => {
      page ??= renderPage(endpoints, serviceVersion().version);
      response.setHeader('Content-Type', 'text/html; charset=utf-8');
      response.end(page);
    }),
  ];
}

function renderPage(rows: readonly EndpointRow[], version: string): string {
  const slices = Map.groupBy(rows, (row) => row.id.slice(0, row.id.indexOf('.')));
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>API ${version}</title>
      </head>
      <body>
        <h1>API ${version}</h1>
        <p>Machine-readable: <a href="/api/openapi.json">openapi.json</a></p>
        <ul>
          !${[...slices.keys()].map((slice) => html`<li><a href="#${slice}">${slice}</a></li>`).join('')}
        </ul>
        !${[...slices].map(([slice, members]) => renderSlice(slice, members)).join('')}
      </body>
    </html>`;
}

function renderSlice(slice: string, rows: readonly EndpointRow[]): string {
  return html`<h2 id="${slice}">${slice}</h2>
    !${rows.map(renderRow).join('')}`;
}

function renderRow(row: EndpointRow): string {
  const callers = row.auth.length === 0 ? 'public' : row.auth.join(', ');
  return html`<details id="${row.id}">
    <summary><code>${row.method} ${row.path}</code></summary>
    <p>${row.doc}</p>
    <p>
      Callers: ${callers}. Least role: ${row.role}. Answers ${[row.status, ...(row.also ?? [])].join(', ')}.
    </p>
    !${renderSchema('Query', row.query)} !${renderSchema('Body', row.body)}
    !${renderSchema('For example', exampleBody(row) as object | undefined)}
    !${renderSchema('Response', row.response ?? undefined)}
  </details>`;
}

function renderSchema(title: string, schema: object | undefined): string {
  if (schema === undefined) return '';
  return html`<h3>${title}</h3>
    <pre>${JSON.stringify(schema, null, 2)}</pre>`;
}
