/** Owns no table: one search over issues, agents, projects and runs, and the names that people choose from. */
export { companyNames } from './company-names.ts';
export { find, mostFound } from './find.ts';
export { findNames, type Named, type NamedKind, namedExactly, namesOf, offeredNames } from './names.ts';
