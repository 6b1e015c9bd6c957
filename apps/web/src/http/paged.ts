import type { Page } from '@acp/db';

/** Returns the items of a page and sets the headers for the next one. */
export function paged<T>(context: { nextPage(cursor: string | null): void }, page: Page<T>): T[] {
  context.nextPage(page.next_cursor);
  return page.items;
}
