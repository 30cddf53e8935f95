/** A process that refuses its configuration ends with this (EX_CONFIG of sysexits.h): starting it again does not help. */
export const configExitCode = 78;
