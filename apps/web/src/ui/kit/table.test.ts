import { expect, it } from '@jest/globals';
import { html } from './html.ts';
import { samePage, tableRow } from './table.ts';

const cellOf = (content: string): string =>
  tableRow([{ label: 'Name', cell: () => content }], null).replace(
    /[\s\S]*<div>([\s\S]*)<\/div>[\s\S]*/,
    '$1',
  );

it('only words longer than any ordinary one may be broken anywhere', () => {
  const long = 'a'.repeat(28);
  expect(cellOf(html`Dana, dana.smith@harbour-books.example`)).toBe('Dana, dana.smith@harbour-books.example');
  expect(cellOf(html`of ${long}, too`)).toBe(`of <span class="long">${long},</span> too`);
  // An escaped character is one letter, and is not torn apart.
  expect(cellOf(html`${'<'.repeat(27)}`)).not.toContain('long');
  expect(cellOf(html`${'<'.repeat(28)}`)).toBe(`<span class="long">${'&#60;'.repeat(28)}</span>`);
});

it('what is not text stays as it is', () => {
  const long = 'a'.repeat(40);
  const link = html`<a href="/${long}" title="${long}">short</a>`;
  expect(cellOf(link)).toBe(link);
  const choice = html`<select name="x">
    <option value="${long}">${long}</option>
  </select>`;
  expect(cellOf(choice)).toBe(choice);
  expect(cellOf(html`<code>${long}</code>`)).toBe(`<code><span class="long">${long}</span></code>`);
});

it('a part that refreshes itself asks for the page that is shown', () => {
  expect(samePage('/runs', {})).toBe('/runs');
  expect(samePage('/runs', { cursor: 'a b' })).toBe('/runs?cursor=a%20b');
  expect(samePage('/runs?status=failed', { cursor: 'a' })).toBe('/runs?status=failed&cursor=a');
});

it('a cell says how it stands on a phone, and has its label for where it is shown', () => {
  const row = tableRow([{ label: 'When', phone: 'plain', cell: () => 'now' }], null);
  expect(row).toMatch(/data-label="When" data-phone="plain"/);
  expect(tableRow([{ label: 'When', cell: () => 'now' }], null)).not.toContain('data-phone');
});
