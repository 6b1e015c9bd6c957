/** Owns `saved_views`: named filters of issue lists. An unshared one is visible only to its owner, and goes with its owner. */
export { createView, deleteOwnerlessViews, deleteView, findView, listViews, updateView } from './views.ts';
