import type { Page } from '@acp/db';

/** The items of a page, with the headers that name the next one. */
export function paged<T>(context: { nextPage(cursor: string | null): void }, page: Page<T>): T[] {
  context.nextPage(page.next_cursor);
  return page.items;
}
