import { settingsEndpoints as rows } from '@acp/contract';
import { changeInstanceSettings, deleteFlag, getFlag, listFlags, putFlag, readSettings } from '@acp/core';
import { handle, type Route } from '../../http/handle.ts';
import { assertFactorPossible } from '../../passkeys/relying-party.ts';

export const settingsRoutes: Route[] = [
  handle(rows.get, (c) => readSettings(c.tx)),
  handle(rows.update, (c) => {
    assertFactorPossible(c.body.require_second_factor, c.services);
    return changeInstanceSettings(c.tx, c.actor, c.body);
  }),
  handle(rows.listFlags, (c) => listFlags(c.tx)),
  handle(rows.getFlag, (c) => getFlag(c.tx, c.params.name!)),
  handle(rows.putFlag, (c) => putFlag(c.tx, c.actor, c.params.name!, c.body)),
  handle(rows.deleteFlag, (c) => deleteFlag(c.tx, c.actor, c.params.name!)),
];
