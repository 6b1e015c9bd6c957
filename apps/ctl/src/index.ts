export { nouns } from './nouns.ts';
