import { agentFileEndpoints as rows } from '@acp/contract';
import {
  deleteAgentFile,
  deleteFsSkill,
  findAgentFile,
  findFsSkill,
  listAgentFiles,
  listFsSkills,
  putAgentFile,
  putFsSkill,
} from '@acp/core';
import { invalid } from '@acp/kernel';
import { handle, type Route } from '../../http/handle.ts';
import { paged } from '../../http/paged.ts';
import { sendFile } from '../../http/send-file.ts';
import { type PlacedSkill, placeSkill, storeSkill } from './store-skill.ts';

export const agentFileRoutes: Route[] = [
  handle(rows.listSkills, async (c) => paged(c, await listFsSkills(c.tx, c.subject, c.query))),
  handle(
    rows.createSkill,
    (c, { file }: PlacedSkill) => putFsSkill(c.tx, c.actor, c.subject, c.body, file, { fresh: true }),
    (c) => placeSkill(c, c.body),
  ),
  handle(rows.getSkill, (c) => findFsSkill(c.tx, c.subject, c.params.slug!)),
  handle(rows.putSkill, (c) => {
    const { slug = '' } = c.params;
    if (!/^[a-z0-9]+(?:-[a-z0-9]+)*$/.test(slug) || slug.length > 64)
      throw invalid('the slug must be of lower-case letters, digits and single hyphens');
    if (c.body.slug !== undefined && c.body.slug !== slug) throw invalid('body.slug differs from the path’s');
    return storeSkill(c, { slug, content: c.body.content });
  }),
  handle(rows.deleteSkill, async ({ services, actor, company_id, subject, params }) => {
    const key = await services.change(company_id, (tx) => deleteFsSkill(tx, actor, subject, params.slug!));
    await services.files.discard([key]);
  }),
  handle(rows.list, async (c) => paged(c, await listAgentFiles(c.tx, c.subject, c.query))),
  handle(rows.upload, ({ tx, actor, subject, body, files }) => {
    const [file] = files;
    return putAgentFile(tx, actor, subject, body.path ?? file!.filename, file!);
  }),
  handle(rows.download, async (c) => {
    const file = await findAgentFile(c.tx, c.subject, c.params.path!);
    await sendFile(c, {
      storage_key: file.storage_key,
      size_bytes: file.size_bytes,
      content_type: 'application/octet-stream',
      filename: file.path.split('/').at(-1)!,
      etag: file.sha256,
    });
  }),
  handle(rows.delete, async ({ services, actor, company_id, subject, params }) => {
    const key = await services.change(company_id, (tx) => deleteAgentFile(tx, actor, subject, params.path!));
    await services.files.discard([key]);
  }),
];
