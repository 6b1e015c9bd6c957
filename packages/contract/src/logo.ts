/** A company's logo (specification, Company logo; decisions 3, Logo, assets). */
import { Type, type Static } from 'typebox';
import { BEARER, endpoint } from './endpoint.ts';
import { Nullable, OneOf, Timestamp, Uuid } from './schema-kit.ts';

const LOGO_MAX_BYTES = 1_000_000;
export const LOGO_MAX_PIXELS = 2000;
/** SVG is excluded on purpose: it can contain scripts. */
export const logoTypes = ['image/png', 'image/jpeg', 'image/gif', 'image/webp'] as const;
export type LogoType = (typeof logoTypes)[number];
export const logoThemes = ['light', 'dark'] as const;

export const Logo = Type.Object({
  asset_id: Nullable(Uuid),
  theme: OneOf(logoThemes),
  updated_at: Timestamp,
});
export type Logo = Static<typeof Logo>;

const base = { auth: BEARER, scope: { by: 'company', param: 'companyId' } } as const;
const path = '/api/companies/{companyId}/logo';

export const logoEndpoints = {
  get: endpoint({
    ...base,
    id: 'logo.get',
    method: 'GET',
    path,
    role: 'viewer',
    response: Logo,
    status: 200,
    tx: 'none',
    doc: 'Metadata of the logo; 404 if there is none.',
  }),
  image: endpoint({
    ...base,
    id: 'logo.image',
    method: 'GET',
    path: `${path}/image`,
    role: 'viewer',
    response: null,
    status: 200,
    tx: 'none',
    streams: 'bytes',
    doc: 'The image; cacheable for an hour.',
  }),
  put: endpoint({
    ...base,
    id: 'logo.put',
    method: 'POST',
    path,
    role: 'admin',
    body_kind: 'multipart',
    body: Type.Object({ theme: Type.Optional(OneOf(logoThemes)) }),
    files: { field: 'file', into: 'memory', limit: LOGO_MAX_BYTES, required: true },
    response: Logo,
    status: 201,
    tx: 'none',
    doc: 'Sets the logo: PNG, JPEG, GIF or WebP (else 415), at most 1,000,000 bytes (else 413) and 2000 × 2000 pixels (else 415); the default theme is `light`.',
  }),
  delete: endpoint({
    ...base,
    id: 'logo.delete',
    method: 'DELETE',
    path,
    role: 'admin',
    response: null,
    status: 204,
    tx: 'none',
    doc: 'Removes the logo; 404 if there is none.',
  }),
};
