export const markVariable: string;
