/** Owns `work_products` and `execution_decisions`: what work on an issue produced, and how its execution was decided. */
export {
  createWorkProduct,
  deleteWorkProduct,
  findWorkProduct,
  listWorkProducts,
  updateWorkProduct,
} from './work-products.ts';
export { createExecutionDecision, listExecutionDecisions } from './execution-decisions.ts';
