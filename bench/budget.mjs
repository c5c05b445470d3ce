/** How long a figure may take. Whatever works for it, however deep, can ask; figures that have been told nothing may go on. */
import { AsyncLocalStorage } from "node:async_hooks";

const deadlines = new AsyncLocalStorage();

export function withinBudget(budgetMs, work) {
  return deadlines.run(performance.now() + budgetMs, work);
}

export function isBudgetSpent() {
  const deadline = deadlines.getStore();
  return deadline !== undefined && performance.now() >= deadline;
}
