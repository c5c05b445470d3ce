export function withinBudget<Result>(budgetMs: number, work: () => Promise<Result>): Promise<Result>;
export function isBudgetSpent(): boolean;
