/**
 * Owns nothing: exports and imports a company as a file. Invariants: a bundle contains no secrets; an import changes all or
 * nothing, and starts nothing; importing and exporting again yields the same bundle.
 */
export { finishExport, readExport } from './export-company.ts';
export { importCompany } from './import-company.ts';
export type { CompanyImport } from './import-company.ts';
export { readBundle, readBundleValue } from './read-bundle.ts';
export { companyTemplate, listTemplates } from './templates.ts';
