/**
 * Owns `skills` and `agent_skills`: instructions for agents. A slug is unique among a company's skills outside the trash;
 * changing the text creates a new version.
 */
export { createSkill, deleteSkill, purgeSkill, restoreSkill, updateSkill } from './skills.ts';
export { findSkill, listSkills, skillNamed } from './read-skills.ts';
export { inheritSkills, insertAgentSkills, insertSkills } from './insert-skills.ts';
export { attachSkill, detachSkill } from './attachments.ts';
export { outlinedSkills, skillOf, skillOutlines, skillTree } from './skill-tree.ts';
export type { SkillOutline, StoredOutline } from './skill-tree.ts';
export { hasFrontMatter, parseSkillMarkdown, readYaml, slugOf } from './skill-markdown.ts';
export { presentSkill } from './present.ts';
