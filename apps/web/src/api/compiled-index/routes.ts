import { compiledIndexEndpoints as rows } from '@acp/contract';
import { cancelCompile, compileIndex, configureCompile, readCompiledIndex } from '@acp/core';
import { handle, type Route } from '../../http/handle.ts';

export const compiledIndexRoutes: Route[] = [
  handle(rows.get, (c) => readCompiledIndex(c.tx, c.actor, c.company_id)),
  handle(rows.configure, async (c) => {
    await configureCompile(c.tx, c.actor, c.company_id, c.body);
    return readCompiledIndex(c.tx, c.actor, c.company_id);
  }),
  handle(rows.compile, async (c) => {
    await compileIndex(c.tx, c.actor, c.company_id);
    return readCompiledIndex(c.tx, c.actor, c.company_id);
  }),
  handle(rows.cancel, async (c) => {
    await cancelCompile(c.tx, c.actor, c.company_id);
    return readCompiledIndex(c.tx, c.actor, c.company_id);
  }),
];
