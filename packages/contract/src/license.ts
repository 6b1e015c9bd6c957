/** The instance's license (decisions 1). */
import { Type, type Static } from 'typebox';
import { BEARER, endpoint } from './endpoint.ts';
import { Nullable, OneOf, Timestamp, Uuid } from './schema-kit.ts';

const licenseStatuses = ['trial', 'licensed', 'expired'] as const;

export const LicenseState = Type.Object({
  status: OneOf(licenseStatuses),
  /** Mutating calls are refused and no runs start. */
  read_only: Type.Boolean(),
  /** Null during the trial. */
  license_id: Nullable(Uuid),
  holder: Nullable(Type.String()),
  /** When the trial or license ends; null: never. */
  expires_at: Nullable(Timestamp),
});
export type LicenseState = Static<typeof LicenseState>;

const InstallLicense = Type.Object({ license_key: Type.String({ minLength: 1, maxLength: 4096 }) });

const administration = {
  path: '/api/admin/license',
  auth: BEARER,
  role: 'instance_admin',
  scope: { by: 'none' },
  response: LicenseState,
  status: 200,
} as const;

export const licenseEndpoints = {
  get: endpoint({
    ...administration,
    id: 'license.get',
    method: 'GET',
    tx: 'none',
    doc: 'Trial or license, and its expiry.',
  }),
  install: endpoint({
    ...administration,
    id: 'license.install',
    method: 'POST',
    body: InstallLicense,
    example: { license_key: 'eyJpZCI6Ii4uLiJ9.c2lnbmF0dXJl' },
    while_read_only: true,
    tx: 'write',
    doc: 'Installs a license; 400 if it was not issued for this service or expires before the current one.',
  }),
};
