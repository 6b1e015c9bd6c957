/** Owns `saved_views`: named filters of issue lists. An unshared one is visible only to its owner. */
export { createView, deleteView, findView, listViews, presentView, updateView } from './views.ts';
export type { ViewRow } from './views.ts';
