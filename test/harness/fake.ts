/** Returns a stand-in for an instance of a class. It has only the given members. */
export const fake = <T>(members: NoInfer<Partial<T>>): T => members as T;
