import { inboxEndpoints as rows } from '@acp/contract';
import { inboxLite } from '@acp/core';
import { handle, type Route } from '../../http/handle.ts';

export const inboxRoutes: Route[] = [handle(rows.lite, (c) => inboxLite(c.tx, c.subject))];
