import { logoEndpoints as rows } from '@acp/contract';
import { deleteLogo, findLogo, findLogoImage } from '@acp/core';
import { handle, type Route } from '../../http/handle.ts';
import { sendFile } from '../../http/send-file.ts';
import { storeLogo } from './store-logo.ts';

export const logoRoutes: Route[] = [
  handle(rows.get, (c) => findLogo(c.tx, c.company_id)),
  handle(rows.image, async (c) => {
    const image = await findLogoImage(c.tx, c.company_id);
    c.response.setHeader('Cache-Control', 'public, max-age=3600');
    await sendFile(c, image);
  }),
  handle(rows.put, ({ services, actor, company_id, files, body }) =>
    storeLogo(services, actor, company_id, files[0]!, body?.theme),
  ),
  handle(rows.delete, async ({ services, actor, company_id }) => {
    const former = await services.change(company_id, (tx) => deleteLogo(tx, actor, company_id));
    await services.files.discard(former);
  }),
];
