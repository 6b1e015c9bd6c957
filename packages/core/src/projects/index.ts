/** Owns `projects`, which group issues. A trashed project counts as absent. */
export {
  findCompanyProject,
  listProjects,
  findProject,
  presentProjectIds,
  projectNamed,
} from './read-projects.ts';
export { createProject, deleteProject, purgeProject, restoreProject, updateProject } from './projects.ts';
export { assertRepository, branchName } from './repository-rules.ts';
export { insertProjects } from './insert-projects.ts';
export type { NewProject } from './insert-projects.ts';
export { assertBackend } from './projects.ts';
export { presentProject } from './present.ts';
export type { ProjectRow } from './present.ts';
