import { licenseEndpoints as rows } from '@acp/contract';
import { installLicense, licenseState } from '@acp/core';
import { handle, type Route } from '../../http/handle.ts';

export const licenseRoutes: Route[] = [
  handle(rows.get, (c) => licenseState(c.tx)),
  handle(rows.install, (c) => installLicense(c.tx, c.actor, c.services.readLicense(c.body.license_key))),
];
