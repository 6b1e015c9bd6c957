/** Owns `saved_views`: filters of issue lists under a name. One that is not shared exists for its owner alone. */
export { createView, deleteView, findView, listViews, presentView, updateView } from './views.ts';
export type { ViewRow } from './views.ts';
