/**
 * Owns `user_models`, what the agents of a company know about the users who request work, one text for each and one from the user's
 * private chats; and the tables of
 * the knowledge search: `knowledge_chunks`, the passages of the rows of `knowledge_sources`, which triggers write. A passage is
 * only returned while it matches the current revision of its source.
 */
export { ownerOfChat, putUserModel, requesterOf, userModelsOf } from './user-models.ts';
export type { Requester, UserModel } from './user-models.ts';
export {
  claimEmbedding,
  type EmbeddingClaim,
  OtherDimensions,
  type Passage,
  passagesToEmbed,
  postponeEmbedding,
  releaseEmbedding,
  storeVectors,
} from './embed-passages.ts';
export { embeddingModel, insertVectors, type QuestionVector, vectorSpaceOf, vectorSpace } from './vectors.ts';
export { bytesOf, vectorOf } from './vector-bytes.ts';
export { disableVectorIndex, enableVectorIndex, vectorIndexState } from './near-vectors.ts';
export {
  giveUpSource,
  hasIndex,
  hasKnowledge,
  indexNextSource,
  knowledgeState,
  SourceNotCut,
} from './index-sources.ts';
export { recallKnowledge, searchKnowledge } from './search-knowledge.ts';
export type { KnowledgeState } from './index-sources.ts';
export type { KnowledgeQuery } from './search-knowledge.ts';
