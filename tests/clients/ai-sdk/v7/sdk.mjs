export * from 'ai';
export { Chat } from '@ai-sdk/react';
export const endpoint = '/api/chat';
export const version = 7;
