import { type Route } from '../../http/handle.ts';
import { type MountedRow, prepareRow } from '../../http/mounted-row.ts';
import type { ActionRow, UiRoute } from './ui-routes.ts';

/** The endpoints that carry out the actions, as the API serves them. */
export class Endpoints {
  readonly #rows = new Map<ActionRow, MountedRow>();

  /** Throws at boot if an action's endpoint has no handler or does not accept users. */
  constructor(actions: readonly UiRoute[], routes: readonly Route[]) {
    const handlers = new Map(routes.map((route) => [route.row.id, route]));
    for (const action of actions) {
      if (action.kind !== 'action') continue;
      const { endpoint: row, handler, path } = action;
      const route = handler ? { row, handler } : handlers.get(row.id);
      if (route === undefined || !row.auth.includes('user'))
        throw new Error(`${path}: ${row.id} takes no form`);
      this.#rows.set(action, prepareRow({ ...route, row }, false));
    }
  }

  of(action: ActionRow): MountedRow {
    return this.#rows.get(action)!;
  }

  /** Names of fields that are never sent back. */
  secretsOf(action: ActionRow): readonly string[] {
    return [...action.secrets, ...this.of(action).writeOnly];
  }
}
