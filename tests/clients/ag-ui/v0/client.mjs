export * from '@ag-ui/client';
export { default as Ajv } from 'ajv/dist/2020.js';
export const version = 0;
