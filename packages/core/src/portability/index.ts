/**
 * Owns nothing: a company as a file, out and in. Invariants: no secret is in a bundle; an import changes all or nothing, and
 * starts nothing; what is imported and exported again is the same bundle.
 */
export { finishExport, readExport } from './export-company.ts';
export type { ExportOptions, RawExport } from './export-company.ts';
export { importCompany } from './import-company.ts';
export type { CompanyImport, ImportMeans } from './import-company.ts';
export { readBundle, readBundleValue } from './read-bundle.ts';
export { companyTemplate, listTemplates } from './templates.ts';
