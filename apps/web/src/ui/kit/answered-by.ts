/** Who answers for keys and webhooks, in lists of them. */
import { userNames } from '@acp/core';
import type { Tx } from '@acp/db';
import { html, type Html } from './html.ts';
import { t } from './language.ts';

interface Answered {
  created_by_user_id: string | null;
}

/** Names of users by id. */
export type Names = ReadonlyMap<string, string>;

export const namesOfAnswerers = async (tx: Tx, items: readonly Answered[]): Promise<Names> =>
  userNames(
    tx,
    items.map(({ created_by_user_id }) => created_by_user_id),
  );

/** Who did what people and integrations can do: without an id, an integration. */
export const doneBy = (names: Names, id: string | null): string =>
  id === null ? t`an integration` : (names.get(id) ?? t`a former user`);

/** Empty for those of the operator. */
export function answeredBy(names: Names, { created_by_user_id: id }: Answered): Html {
  return id === null ? '' : html`${names.get(id) ?? t`a former user`}`;
}
