export const markVariable: string;
export function killLeftovers(group: number, mark: string): Promise<void>;
