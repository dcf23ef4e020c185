"""The topics of a run: what is written into them, and what must become of it.

====================== =========================================================================
``chaos_topics``       the topics, and the delivery guarantee of each
``transformed_topics`` topics whose transforms change or leave out records, and what they make of
                       each
``masking``            the Python function of one of them
``registry``           a schema registry that now and then answers 503
``writers``            keep records flowing into the source
====================== =========================================================================

May import: the product.
"""
