/** Export and import of companies, and company templates (decisions 3, Portability). */
import { Type, type Static } from 'typebox';
import { bundleLists, CompanyBundle, CreatedCounts } from './company-bundle.ts';
import { Slug } from './companies.ts';
import { BEARER, endpoint } from './endpoint.ts';
import { Name, Nullable, OneOf, Uuid } from './schema-kit.ts';

export const ExportCompany = Type.Object({
  /** `issues`: including comments, documents, labels and relations. */
  include: Type.Optional(Type.Array(OneOf(['issues']), { maxItems: 10 })),
});
export type ExportCompany = Static<typeof ExportCompany>;

export const NewCompany = Type.Object({ name: Name, slug: Slug });
/** Keyed by the labels of the bundle's providers. */
export const ProviderKeys = Type.Record(
  Type.String(),
  Type.String({ minLength: 1, maxLength: 16_384, pattern: '^[^\\u0000]+$' }),
);
export type ProviderKeys = Static<typeof ProviderKeys>;

export const TemplateName = Type.String({ maxLength: 100, pattern: '^[a-z0-9]+(-[a-z0-9]+)*$' });

/** In a multipart body the bundle is the file `bundle`, and objects are JSON texts. */
export const ImportCompany = Type.Object({
  bundle: Type.Optional(CompanyBundle),
  /** A company template instead of a bundle. */
  template: Type.Optional(TemplateName),
  /** Merge into this company. */
  company_id: Type.Optional(Uuid),
  /** Or create a new one. */
  new_company: Type.Optional(Type.Union([NewCompany, Type.String({ maxLength: 2000 })])),
  provider_keys: Type.Optional(Type.Union([ProviderKeys, Type.String({ maxLength: 200_000 })])),
  /** Reports what would happen without changing anything. */
  dry_run: Type.Optional(Type.Boolean()),
});
export type ImportCompany = Static<typeof ImportCompany>;

export const ImportedCompany = Type.Object({
  /** Null in a dry run if the company would be new. */
  company_id: Nullable(Uuid),
  /** Number of entities per list. */
  created: CreatedCounts,
  /** Entities the company already has; references point to those. */
  skipped: Type.Array(Type.Object({ type: OneOf(bundleLists), name: Type.String(), reason: Type.String() })),
  /** What an admin should know: what is imported as disabled, which secrets are missing, which rights are granted. */
  warnings: Type.Array(Type.String()),
});
export type ImportedCompany = Static<typeof ImportedCompany>;

export const CompanyTemplate = Type.Object({
  slug: Type.String(),
  name: Type.String(),
  description: Type.String(),
  agents: Type.Array(
    Type.Object({ name: Type.String(), role: Type.String(), title: Nullable(Type.String()) }),
  ),
  skills: Type.Integer(),
  routines: Type.Integer(),
  goals: Type.Integer(),
});
export type CompanyTemplate = Static<typeof CompanyTemplate>;

export const portabilityEndpoints = {
  templates: endpoint({
    id: 'portability.list-templates',
    method: 'GET',
    path: '/api/company-templates',
    auth: BEARER,
    role: 'none',
    scope: { by: 'none' },
    response: Type.Array(CompanyTemplate),
    status: 200,
    tx: 'none',
    doc: 'Company templates, which an import accepts by the name in `slug`.',
  }),
  export: endpoint({
    id: 'portability.export',
    method: 'POST',
    path: '/api/companies/{companyId}/export',
    auth: BEARER,
    role: 'admin',
    scope: { by: 'company', param: 'companyId' },
    body: ExportCompany,
    body_optional: true,
    response: CompanyBundle,
    status: 200,
    tx: 'none',
    while_read_only: true,
    example: { include: ['issues'] },
    doc: 'The company as a bundle, without secrets; `manifest` lists what is left out. 413 if it would exceed the upload limit.',
  }),
  download: endpoint({
    id: 'portability.download',
    method: 'GET',
    path: '/api/companies/{companyId}/export',
    auth: BEARER,
    role: 'admin',
    scope: { by: 'company', param: 'companyId' },
    query: Type.Object({ include: Type.Optional(OneOf(['issues'])) }),
    response: null,
    status: 200,
    tx: 'none',
    streams: true,
    doc: 'The same bundle as a file download.',
  }),
  import: endpoint({
    id: 'portability.import',
    method: 'POST',
    path: '/api/companies/import',
    auth: ['user', 'board_user'],
    role: 'none',
    scope: { by: 'none' },
    body: ImportCompany,
    body_kind: 'json_or_multipart',
    files: { field: 'bundle', into: 'memory', limit: 'upload', required: false },
    response: ImportedCompany,
    status: 200,
    tx: 'write',
    example: {
      bundle: {
        format: 'company-bundle',
        version: 1,
        company: { name: 'Harbour Books' },
        agents: [{ slug: 'ada', name: 'Ada', role: 'engineer' }],
      },
      new_company: { name: 'Harbour Books', slug: 'harbour-books' },
      dry_run: true,
    },
    doc: 'Creates a company from a bundle (instance admins), or merges it into one (its admins); all or nothing. Heartbeats, schedules and webhooks start disabled.',
  }),
};
