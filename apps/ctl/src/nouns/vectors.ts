import { disableVectorIndex, enableVectorIndex, vectorIndexState } from '@acp/core';
import { openDatabase } from '@acp/db';
import type { Answer, Command, CommandContext } from '../command.ts';

async function status({ database }: Pick<CommandContext, 'database'>): Promise<Answer> {
  const value = await vectorIndexState(database.db);
  const { available, installed, enabled, missing } = value;
  const lines = [
    (installed ?? available)
      ? `pgvector ${installed ?? `${available ?? ''} (not installed)`}`
      : 'the server has no pgvector: signs are compared',
    enabled ? `index: on${missing > 0 ? `, lacks ${missing} vectors: enable it again` : ''}` : 'index: off',
    ...value.dimensions.map(
      ({ dimensions, vectors, indexed }) =>
        `${vectors} vectors of ${dimensions} dimensions: ${indexed ? 'by the index' : 'by their signs'}`,
    ),
  ];
  return { value, text: lines.join('\n') };
}

/** Uses a direct connection, bypassing any pooler, that may use more memory. */
async function change(context: CommandContext, act: typeof enableVectorIndex): Promise<Answer> {
  const own = openDatabase({
    url: context.direct_url,
    max: 1,
    application_name: 'ctl',
    logger: context.logger,
    // Building the index says nothing until it is done.
    patient: true,
  });
  try {
    await act(own.db);
    return await status({ database: own });
  } finally {
    await own.close();
  }
}

export const vectorCommands: Record<string, Command> = {
  'vectors status': {
    usage: 'db vectors status',
    doc: 'Shows whether knowledge search has a pgvector index.',
    run: status,
  },
  'vectors enable': {
    usage: 'db vectors enable',
    doc: 'Creates the extension and the index, without downtime; run it again after changing the embedding model.',
    run: async (context) => change(context, enableVectorIndex),
  },
  'vectors disable': {
    usage: 'db vectors disable',
    doc: 'Removes the index; the extension stays.',
    run: async (context) => change(context, disableVectorIndex),
  },
};
