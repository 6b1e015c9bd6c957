/** Texts as rendered on pages. */
import { Type } from 'typebox';
import { BEARER, endpoint } from './endpoint.ts';

export const markdownEndpoints = {
  render: endpoint({
    id: 'markdown.render',
    method: 'POST',
    path: '/api/companies/{companyId}/markdown',
    auth: BEARER,
    role: 'viewer',
    scope: { by: 'company', param: 'companyId' },
    body: Type.Object({ text: Type.String({ maxLength: 200_000 }) }),
    response: Type.Object({ html: Type.String() }),
    status: 200,
    tx: 'none',
    while_read_only: true,
    example: { text: 'See **ABC-12**, @Ada.' },
    doc: 'GitHub-flavoured Markdown as HTML that is safe to show, with links to the company’s issues and agents.',
  }),
};
