/** Endpoints of instance administration that belong to no other slice (specification, Instance administration). */
import { Type, type Static } from 'typebox';
import { BEARER, endpoint } from './endpoint.ts';

const count = Type.Integer({ minimum: 0 });

export const StreamMetrics = Type.Object({
  /** Open streams of the responding process. */
  streams: count,
  /** By company id; `instance` counts events that belong to no company. */
  companies: Type.Record(Type.String(), Type.Object({ published: count, sent: count, dropped: count })),
});
export type StreamMetrics = Static<typeof StreamMetrics>;

const text = {
  method: 'GET',
  auth: BEARER,
  role: 'none',
  scope: { by: 'none' },
  response: null,
  status: 200,
  tx: 'none',
  streams: true,
} as const;

export const adminEndpoints = {
  streamMetrics: endpoint({
    id: 'admin.sse-metrics',
    method: 'GET',
    path: '/api/admin/sse-metrics',
    auth: BEARER,
    role: 'instance_admin',
    scope: { by: 'none' },
    response: StreamMetrics,
    status: 200,
    tx: 'none',
    doc: 'Live stream events published, sent and dropped, by company, since the responding process started.',
  }),
};

export const referenceEndpoints = {
  agentConfiguration: endpoint({
    ...text,
    id: 'references.agent-configuration',
    path: '/llms/agent-configuration.txt',
    doc: 'How agents are configured, as plain text.',
  }),
  adapterConfiguration: endpoint({
    ...text,
    id: 'references.adapter-configuration',
    path: '/llms/agent-configuration/{adapterType}.txt',
    doc: 'The configuration of one adapter type, as plain text.',
  }),
  agentIcons: endpoint({
    ...text,
    id: 'references.agent-icons',
    path: '/llms/agent-icons.txt',
    doc: 'The symbols that represent agents, as plain text.',
  }),
};
