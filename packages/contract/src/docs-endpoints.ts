/** The description of the API itself. */
import { endpoint } from './endpoint.ts';

const open = {
  method: 'GET',
  auth: [],
  role: 'none',
  scope: { by: 'none' },
  response: null,
  status: 200,
  tx: 'none',
  streams: true,
} as const;

export const docsEndpoints = {
  openapi: endpoint({
    ...open,
    id: 'docs.openapi',
    path: '/api/openapi.json',
    doc: 'This description, as OpenAPI 3.1.',
  }),
  page: endpoint({ ...open, id: 'docs.page', path: '/api/docs', doc: 'This description, to read.' }),
};
