export * from 'ai';
export { Chat } from '@ai-sdk/react';
export const endpoint = '/api/v6/chat';
export const version = 6;
