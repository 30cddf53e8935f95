import { mutateSerializedFunctions } from './page-mutants.ts';

mutateSerializedFunctions();
