/** Owns `projects`: what issues are grouped by. A trashed project counts as absent. */
export { createProject, findProject } from './projects.ts';
export type { NewProject, ProjectRow } from './projects.ts';
