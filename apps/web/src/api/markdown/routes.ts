import { markdownEndpoints as rows } from '@acp/contract';
import { handle, type Route } from '../../http/handle.ts';
import { markdown } from '../../ui/kit/markdown.ts';
import { sharedTexts } from '../../ui/kit/markdown-renderer.ts';

export const markdownRoutes: Route[] = [
  handle(rows.render, async ({ tx, company_id, body }) => ({
    html: await sharedTexts.finish(markdown(body.text), { tx, company_id }),
  })),
];
