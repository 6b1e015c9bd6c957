create index concurrently if not exists knowledge_vectors_signs on knowledge_vectors (company_id, space, signs, chunk_id)
