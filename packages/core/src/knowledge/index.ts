/** Owns `user_models`: what the agents of a company know of the users who ask them for work, one text for each. */
export { knownUser, putUserModel, requesterOf, userModelsOf } from './user-models.ts';
export type { UserModel } from './user-models.ts';
