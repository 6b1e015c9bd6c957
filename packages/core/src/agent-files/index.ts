/**
 * Owns `agent_files` and `agent_file_texts`. Invariants: a path is one of ordinary names; a row's bytes lie in the storage under its key, which
 * is an orphan's before the row is there and after it is gone; the text of a skill stands in its row too.
 */
export {
  deleteAgentFile,
  deleteFsSkill,
  filesForHome,
  findAgentFile,
  findFsSkill,
  listAgentFiles,
  listFsSkills,
  putAgentFile,
  putFsSkill,
} from './agent-files.ts';
export type { AgentFileRow } from './agent-files.ts';
export { claimFileText, releaseFileText, storeFileText } from './file-texts.ts';
export type { FileTextSource } from './file-texts.ts';
export { checkFilePath } from './paths.ts';
